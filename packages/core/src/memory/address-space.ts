/** The end of the page that no system maps, so that the members of a struct at the null pointer fault. */
export const NULL_PAGE = 4096

/** The end of the address space of a process. The driver would abort the process for some larger sizes of buffers. */
export const ADDRESS_SPACE_END: number = 2 ** 48
