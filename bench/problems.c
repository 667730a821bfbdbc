#include "problems.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char magic[4] = {'T', 'G', 'P', '1'};

enum
{
    MOST_ROWS = 1 << 14
};

static bool write_block(FILE *file, const tg_block *block)
{
    int32_t head[2] = {(int32_t)block->kind, block->rows};
    bool ok = fwrite(head, sizeof head, 1, file) == 1;
    if (block->kind == TG_BLOCK_CONTACT && block->rows > 1)
        ok = ok && fwrite(block->mu, sizeof *block->mu, (size_t)block->rows - 1, file) == (size_t)block->rows - 1;
    if (block->kind == TG_BLOCK_FRICTION)
        ok = ok && fwrite(&block->bound, sizeof block->bound, 1, file) == 1;
    return ok;
}

bool problem_write(FILE *file, const tg_island *island)
{
    size_t n = (size_t)island->rows;
    int32_t head[3] = {island->rows, island->blocks, island->warm != NULL};
    bool ok = fwrite(magic, sizeof magic, 1, file) == 1 && fwrite(head, sizeof head, 1, file) == 1;
    for (int b = 0; ok && b < island->blocks; b++)
        ok = write_block(file, &island->block[b]);
    for (size_t i = 0; ok && i < n; i++)
        ok = fwrite(island->G + i * (size_t)island->ldg, sizeof *island->G, i + 1, file) == i + 1;
    ok = ok && fwrite(island->g, sizeof *island->g, n, file) == n;
    return ok && (island->warm == NULL || fwrite(island->warm, sizeof *island->warm, n, file) == n);
}

static bool read_block(FILE *file, tg_block *block, int row)
{
    int32_t head[2];
    if (fread(head, sizeof head, 1, file) != 1 || head[0] < 0 || head[0] >= TG_BLOCK_KINDS || head[1] < 1)
        return false;
    *block = (tg_block){.kind = (tg_block_kind)head[0], .row = row, .rows = head[1]};
    if (block->kind == TG_BLOCK_CONTACT && block->rows > 1)
    {
        size_t count = (size_t)block->rows - 1;
        return block->rows <= TG_CONE_MAX && fread(block->mu, sizeof *block->mu, count, file) == count;
    }
    return block->kind != TG_BLOCK_FRICTION || fread(&block->bound, sizeof block->bound, 1, file) == 1;
}

static bool read_numbers(FILE *file, problem *p, bool warm)
{
    size_t n = (size_t)p->island.rows;
    double *G = p->numbers, *g = G + n * n, *start = g + n;
    for (size_t i = 0; i < n; i++)
    {
        if (fread(G + i * n, sizeof *G, i + 1, file) != i + 1)
            return false;
        for (size_t j = 0; j < i; j++)
            G[j * n + i] = G[i * n + j];
    }
    p->island.G = G;
    p->island.g = g;
    p->island.warm = warm ? start : NULL;
    return fread(g, sizeof *g, n, file) == n && (!warm || fread(start, sizeof *start, n, file) == n);
}

int problem_read(FILE *file, problem *p)
{
    char name[4];
    int32_t head[3];
    *p = (problem){0};
    size_t got = fread(name, 1, sizeof name, file);
    if (got == 0)
        return 0;
    if (got != sizeof name || memcmp(name, magic, sizeof magic) != 0 || fread(head, sizeof head, 1, file) != 1 ||
        head[0] < 0 || head[0] > MOST_ROWS || head[1] < 0 || head[1] > head[0])
        return -1;
    size_t n = (size_t)head[0];
    p->block = calloc((size_t)head[1] + 1, sizeof *p->block);
    p->numbers = calloc(n * n + 2 * n + 1, sizeof *p->numbers);
    p->island = (tg_island){.rows = head[0], .blocks = head[1], .block = p->block, .ldg = head[0]};
    bool ok = p->block != NULL && p->numbers != NULL;
    for (int b = 0, row = 0; ok && b < head[1]; b++)
    {
        ok = read_block(file, &p->block[b], row);
        row += p->block[b].rows;
    }
    if (ok && read_numbers(file, p, head[2] != 0))
        return 1;
    problem_free(p);
    return -1;
}

void problem_free(problem *p)
{
    free(p->block);
    free(p->numbers);
    *p = (problem){0};
}
