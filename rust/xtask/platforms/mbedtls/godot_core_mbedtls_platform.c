// The platform functions that Mbed TLS requires with the configuration beside this file.
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
