/* SPDX-License-Identifier: Apache-2.0 */
/* gone_library LIB MS: loads LIB, deletes its file, burns MS in its plugin_burn(). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*burn)(int);

    if (!lib) {
        fprintf(stderr, "gone_library: %s\n", dlerror());
        return 1;
    }
    burn = (void (*)(int))dlsym(lib, "plugin_burn");
    unlink(argv[1]);
    burn(atoi(argv[2]));
    return 0;
}
