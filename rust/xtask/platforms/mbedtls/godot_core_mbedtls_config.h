// What Godot's core uses of Mbed TLS. Debian took Godot's own copy of the library out of the source, and this file with it.
#pragma once

#define MBEDTLS_AES_C
#define MBEDTLS_BASE64_C
#define MBEDTLS_CIPHER_MODE_CBC
#define MBEDTLS_CIPHER_MODE_CFB
#define MBEDTLS_CTR_DRBG_C
#define MBEDTLS_ENTROPY_C
#define MBEDTLS_MD_C
#define MBEDTLS_MD5_C
#define MBEDTLS_SHA1_C
#define MBEDTLS_SHA224_C
#define MBEDTLS_SHA256_C

// Godot gives the entropy.
#define MBEDTLS_NO_PLATFORM_ENTROPY
#define MBEDTLS_PLATFORM_ZEROIZE_ALT

#ifdef _WIN32
// Wanted there, though none of its functions is used.
#define MBEDTLS_PLATFORM_C
#endif
