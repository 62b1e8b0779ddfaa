// Loads the addon's library as an engine does, and calls its entry symbol as an engine without functions
// would. The library must return that it cannot start, which shows that its code runs and that it catches its
// panics.

#include <stdio.h>

#ifdef _WIN32
#include <windows.h>
static void *load(const char *path) { return (void *)LoadLibraryA(path); }
static void *find(void *library, const char *name) { return (void *)GetProcAddress((HMODULE)library, name); }
static void explain(const char *what) { printf("%s: error %lu\n", what, GetLastError()); }
#else
#include <dlfcn.h>
static void *load(const char *path) { return dlopen(path, RTLD_NOW); }
static void *find(void *library, const char *name) { return dlsym(library, name); }
static void explain(const char *what) { printf("%s: %s\n", what, dlerror()); }
#endif

typedef void *(*GetProcAddress_t)(const char *name);
typedef unsigned char (*Entry)(GetProcAddress_t get, void *library, void *initialization);

static int asked = 0;

static void *no_function(const char *name) {
	(void)name;
	asked += 1;
	return NULL;
}

int main(int count, char **arguments) {
	void *library = count == 2 ? load(arguments[1]) : NULL;
	if (!library) {
		explain("cannot load the library");
		return 1;
	}
	Entry entry = (Entry)find(library, "gdext_rust_init");
	if (!entry) {
		explain("the library has no entry symbol");
		return 1;
	}
	void *initialization[4] = { NULL, NULL, NULL, NULL };
	unsigned char started = entry(no_function, (void *)initialization, initialization);
	printf("asked for %d functions, answered %d\n", asked, started);
	return started == 0 && asked > 0 ? 0 : 1;
}
