# Poisons the unused capacity of arrays that grow.
#
# With AddressSanitizer (`make fuzz`), each read or write beyond the used part of an array stops the process. Any
# other build does nothing here.

cdef extern from *:
    """
    #ifndef ORBWEB_BOUNDS
    #define ORBWEB_BOUNDS
    #ifdef __SANITIZE_ADDRESS__
    #include <sanitizer/asan_interface.h>
    #define orbweb_close_memory(start, size) __asan_poison_memory_region((start), (size))
    #define orbweb_open_memory(start, size) __asan_unpoison_memory_region((start), (size))
    #else
    #define orbweb_close_memory(start, size) ((void) 0)
    #define orbweb_open_memory(start, size) ((void) 0)
    #endif
    #endif
    """
    void close_memory "orbweb_close_memory"(const void* start, size_t size) noexcept nogil
    void open_memory "orbweb_open_memory"(const void* start, size_t size) noexcept nogil
