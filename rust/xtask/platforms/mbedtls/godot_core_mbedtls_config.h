// The features of Mbed TLS that Godot's core uses. Debian removes Godot's copy of the library from the
// source, and Godot's version of this file with it.
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

// Godot provides the entropy.
#define MBEDTLS_NO_PLATFORM_ENTROPY
#define MBEDTLS_PLATFORM_ZEROIZE_ALT

#ifdef _WIN32
// Mbed TLS requires this on Windows, although Godot uses none of its functions.
#define MBEDTLS_PLATFORM_C
#endif
