/* The library libtenon_tensorflow_c, which has the name and the symbol version of TensorFlow's C distribution, and no functions. */
typedef int tn__tf_nothing_t;
