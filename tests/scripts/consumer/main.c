#include <stdio.h>

#include <tangere/base.h>

int main(void)
{
    printf("tangere %s\n", tg_version());
    return 0;
}
