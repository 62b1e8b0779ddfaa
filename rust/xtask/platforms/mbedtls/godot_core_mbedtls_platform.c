// The functions of the system that Mbed TLS wants as configured beside this.
#include <stddef.h>
#include <stdlib.h>

void mbedtls_platform_zeroize(void *buffer, size_t length) {
	volatile unsigned char *bytes = buffer;
	while (length--) {
		*bytes++ = 0;
	}
}

void mbedtls_zeroize_and_free(void *buffer, size_t length) {
	if (buffer) {
		mbedtls_platform_zeroize(buffer, length);
	}
	free(buffer);
}
