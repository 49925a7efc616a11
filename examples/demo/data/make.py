"""Writes the arrays of the demo from the data sets that scikit-learn carries: python3 make.py (needs both packages)."""
import numpy as np
from sklearn.datasets import load_digits, load_iris

np.save('iris.npy', load_iris().data.astype(np.float32))

images = load_digits().data.astype(np.float32)
np.save('digits.npy', images[:32].reshape(2048))
np.save('digits-mean.npy', np.tile(-images.astype(np.float64).mean(axis=0), 2).astype(np.float32))
