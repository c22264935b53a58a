// The parts of liblz4 that Mako uses.
int LZ4_compress_default(const char *source, char *destination, int source_size, int destination_capacity);
int LZ4_decompress_safe(const char *source, char *destination, int compressed_size, int destination_capacity);
