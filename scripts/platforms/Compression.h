// The parts of Apple's Compression framework that Mako may use.
#include <stddef.h>
#include <stdint.h>

typedef enum { COMPRESSION_LZ4 = 0x100, COMPRESSION_LZ4_RAW = 0x101 } compression_algorithm;

size_t compression_encode_scratch_buffer_size(compression_algorithm algorithm);
size_t compression_encode_buffer(
    uint8_t *_Nonnull destination, size_t destination_size, const uint8_t *_Nonnull source, size_t source_size,
    void *_Nullable scratch, compression_algorithm algorithm);
size_t compression_decode_scratch_buffer_size(compression_algorithm algorithm);
size_t compression_decode_buffer(
    uint8_t *_Nonnull destination, size_t destination_size, const uint8_t *_Nonnull source, size_t source_size,
    void *_Nullable scratch, compression_algorithm algorithm);
