/* SimGrid makes and drops a dozen objects for every flow, and as many flows end at one time as began:
 * more than the C library keeps at hand. So what C++ frees is kept by its size and given out again. Of the
 * program alone, whose rehearsals live in processes that end with them: a library leaves its callers their
 * allocator. Sanitizers keep their own. */
#if defined(__has_feature)
#define RH_HAS_FEATURE(x) __has_feature(x)
#else
#define RH_HAS_FEATURE(x) 0
#endif
#if !defined(__SANITIZE_ADDRESS__) && !RH_HAS_FEATURE(address_sanitizer)

#include <cstddef>
#include <cstdlib>
#include <new>

namespace
{
/* Before every object: its size in steps; from `kept_steps` on it is the C library's. */
struct alignas(std::max_align_t) Head {
    std::size_t steps;
};

struct Free {
    Free *next;
};

constexpr std::size_t step_bytes = 32, kept_steps = 64;
thread_local Free *kept[kept_steps];

void *take(std::size_t bytes)
{
    std::size_t steps = (bytes + step_bytes - 1) / step_bytes;
    bool large = steps >= kept_steps;
    if (!large && kept[steps]) {
        Free *first = kept[steps];
        kept[steps] = first->next;
        return first;
    }
    std::size_t room = large ? bytes : (steps ? steps : 1) * step_bytes;
    void *fresh = room + sizeof(Head) > bytes ? std::malloc(room + sizeof(Head)) : nullptr;
    if (!fresh)
        throw std::bad_alloc();
    return new (fresh) Head{steps} + 1;
}

void give_back(void *object) noexcept
{
    if (!object)
        return;
    Head *head = static_cast<Head *>(object) - 1;
    if (head->steps >= kept_steps) {
        std::free(head);
        return;
    }
    Free *&first = kept[head->steps];
    first = new (object) Free{first};
}
} // namespace

void *operator new(std::size_t bytes)
{
    return take(bytes);
}

void operator delete(void *object) noexcept
{
    give_back(object);
}

void operator delete(void *object, std::size_t) noexcept
{
    give_back(object);
}

#endif
