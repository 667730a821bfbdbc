/* Runs a fuzz target once on each file of the folders that are named, without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int run_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return 0;
    static uint8_t data[1 << 20];
    size_t size = fread(data, 1, sizeof data, stream);
    fclose(stream);
    uint8_t *exact = malloc(size + (size == 0)); /* its end is the end of the input */
    fuzz_require(exact != NULL, "the machine is out of memory", "");
    for (size_t i = 0; i < size; i++)
        exact[i] = data[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

static int run_folder(const char *folder)
{
    int count = 0;
    DIR *entries = opendir(folder);
    if (entries == NULL)
    {
        fprintf(stderr, "%s: cannot be opened\n", folder);
        return 0;
    }
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
    {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            count += run_file(path);
    }
    closedir(entries);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += run_folder(argv[i]);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
