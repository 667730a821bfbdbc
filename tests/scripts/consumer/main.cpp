#include <iostream>

#include <tangere/base.h>

int main()
{
    std::cout << "tangere " << tg_version() << '\n';
}
