// SPDX-License-Identifier: MIT
// The ready kernel on the CPU models: one launch does it all, and a plain loop checks every value.
#include "plain.hpp"
#include <kvloom/backend/host.hpp>
#include <kvloom/backend/message.hpp>
#include <kvloom/kernel/qk_norm_rope_insert.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <new>
#include <vector>

namespace {

using kvloom::bf16;
using kvloom::fp8_e4m3;
using kvloom::i64;

struct m3 : kvloom::insert_problem
{
    using cache    = kvloom::shuffled_cache<fp8_e4m3>; // pages of 16 tokens
    using index    = kvloom::index_branch<bf16>;
    using numerics = kvloom::contract::aiter_static; // fp8 of value / scale
};

constexpr int dim       = plain::dim;
constexpr int page_size = 16;
constexpr int pages     = 3;
constexpr int positions = 64;
constexpr int tokens    = 20;
constexpr kvloom::row_sections sections{8, 2, 4, 1}; // heads of q, of k and v, of index_q; the index key
constexpr int row_heads = sections.q + 2 * sections.kv + sections.index_q + sections.index_k;
constexpr int span      = page_size * dim;

/// An array that begins where vectors of 16 bytes may.
template <class T>
class aligned_array
{
public:
    explicit aligned_array(std::size_t const count)
        : data_(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64)))), count_(count)
    {
        std::fill(data_, data_ + count, T{});
    }
    explicit aligned_array(std::vector<T> const& values) : aligned_array(values.size())
    {
        std::copy(values.begin(), values.end(), data_);
    }
    ~aligned_array() { ::operator delete(data_, std::align_val_t(64)); }
    aligned_array(aligned_array const&)            = delete;
    aligned_array& operator=(aligned_array const&) = delete;

    T* data() const { return data_; }
    std::size_t size() const { return count_; }
    T& operator[](std::size_t const i) const { return data_[i]; }

private:
    T* data_;
    std::size_t count_;
};

/// Everything that the kernel reads and writes.
struct memory
{
    aligned_array<bf16> qkv{plain::random_values(tokens * row_heads * dim, 1, 4.0F)};
    aligned_array<bf16> gains{plain::random_values(4 * dim, 2, 0.5F)}; // of q, k, index_q and index_k
    aligned_array<bf16> angles{plain::angles(positions, 5e6)};
    aligned_array<i64> position{tokens};
    aligned_array<i64> slots{tokens};
    float key_scale   = 0.05F;
    float value_scale = 0.03F;

    aligned_array<bf16> q_out{std::size_t(tokens) * sections.q * dim};
    aligned_array<bf16> index_q_out{std::size_t(tokens) * sections.index_q * dim};
    aligned_array<fp8_e4m3> keys{std::size_t(pages) * sections.kv * span};
    aligned_array<fp8_e4m3> values{std::size_t(pages) * sections.kv * span};
    aligned_array<bf16> index_keys{std::size_t(pages) * span};

    memory()
    {
        for (int t = 0; t < tokens; ++t) {
            position[t] = 5 + 2 * t;
            slots[t] =
                t == 4 ? -1 : 7 + 2 * t; // token 4 has no place: its queries are written, its key is not
        }
    }
};

kvloom::insert_args<m3> arguments(memory const& m)
{
    kvloom::insert_args<m3> a;
    a.tokens = tokens;
    kvloom::packed_row<m3>(a, m.qkv.data(), sections);
    a.q_out        = {m.q_out.data(), sections.q, sections.q * dim}; // data, heads, token stride in elements
    a.index_q_out  = {m.index_q_out.data(), sections.index_q, sections.index_q * dim};
    a.q_gain       = m.gains.data();
    a.k_gain       = m.gains.data() + dim;
    a.index_q_gain = m.gains.data() + 2 * dim;
    a.index_k_gain = m.gains.data() + 3 * dim;
    a.angles       = {m.angles.data(), positions, plain::rotary}; // data, rows, stride
    a.positions    = m.position.data();
    a.slots        = m.slots.data();
    a.slot_count   = tokens; // tokens beyond the count are padding
    a.index_slots  = m.slots.data();
    a.index_slot_count = tokens;

    a.keys.data              = m.keys.data();
    a.keys.pages             = pages;
    a.keys.heads             = sections.kv;
    a.keys.page_stride       = sections.kv * span;
    a.values.data            = m.values.data();
    a.values.pages           = pages;
    a.values.heads           = sections.kv;
    a.values.page_stride     = sections.kv * span;
    a.index_keys.data        = m.index_keys.data();
    a.index_keys.pages       = pages;
    a.index_keys.heads       = 1;
    a.index_keys.page_stride = span;
    a.key_scale              = &m.key_scale;
    a.value_scale            = &m.value_scale;
    return a;
}

/// The element's value; the element itself is made zero again.
template <class T>
double taken(T& element)
{
    double const value = kvloom::decode(element);
    element            = T{};
    return value;
}

/// Elements that are not zero.
template <class T>
long left_over(aligned_array<T> const& cache)
{
    return std::count_if(cache.data(), cache.data() + cache.size(),
                         [](T const element) { return element != T{}; });
}

/// Compares all that the launch wrote with a plain loop.
bool check(memory const& m)
{
    using keys   = kvloom::insert_types<m3>::keys;
    using values = kvloom::insert_types<m3>::values;

    plain::tally q{"q_out"};
    plain::tally index_q{"index_q_out"};
    plain::tally key{"keys"};
    plain::tally value{"values"};
    plain::tally index_key{"index_keys"};

    for (int t = 0; t < tokens; ++t) {
        bf16 const* const turn = m.angles.data() + m.position[t] * plain::rotary;
        auto const row         = [&](int const head) { return m.qkv.data() + (t * row_heads + head) * dim; };
        auto const queries     = [&](plain::tally& to, aligned_array<bf16> const& out, int const heads,
                                 int const first, int const gain) {
            for (int h = 0; h < heads; ++h) {
                auto const want = plain::prepared(row(first + h), m.gains.data() + gain * dim, turn);
                for (int d = 0; d < dim; ++d) {
                    to.compare(kvloom::decode(out[(t * heads + h) * dim + d]), want[d],
                                   plain::to_bf16.half_step(want[d]) + plain::fp32_slack);
                }
            }
        };
        queries(q, m.q_out, sections.q, 0, 0);
        queries(index_q, m.index_q_out, sections.index_q, sections.q + 2 * sections.kv, 2);
        if (m.slots[t] < 0) {
            continue;
        }
        int const page = int(m.slots[t] / page_size);
        int const slot = int(m.slots[t] % page_size);
        for (int h = 0; h < sections.kv; ++h) {
            auto const k         = plain::prepared(row(sections.q + h), m.gains.data() + dim, turn);
            auto const v         = plain::copied(row(sections.q + sections.kv + h));
            std::size_t const at = std::size_t(page * sections.kv + h) * span;
            for (int d = 0; d < dim; ++d) {
                // A key is rounded to bf16 first, then to fp8; a value, bf16 already, to fp8 alone.
                double const before = (plain::to_bf16.half_step(k[d]) + plain::fp32_slack) / m.key_scale;
                double const want_k = k[d] / m.key_scale;
                double const want_v = v[d] / m.value_scale;
                key.compare(taken(m.keys[at + keys::offset(slot, d)]), want_k,
                            before + plain::to_fp8.half_step(std::fabs(want_k) + before));
                value.compare(taken(m.values[at + values::offset(slot, d)]), want_v,
                              plain::to_fp8.half_step(want_v) + plain::fp32_slack);
            }
        }
        auto const k = plain::prepared(row(row_heads - 1), m.gains.data() + 3 * dim, turn);
        for (int d = 0; d < dim; ++d) {
            index_key.compare(taken(m.index_keys[std::size_t(page) * span + slot * dim + d]), k[d],
                              plain::to_bf16.half_step(k[d]) + plain::fp32_slack);
        }
    }
    long const strays = left_over(m.keys) + left_over(m.values) + left_over(m.index_keys);
    bool good         = strays == 0;
    for (plain::tally const& each : {q, index_q, key, value, index_key}) {
        good = each.report() && good;
    }
    std::printf("  cache elements written that no token owns: %ld\n", strays);
    return good;
}

template <class Machine>
bool run(char const* const name)
{
    memory const m;
    kvloom::host::stream<Machine> const stream;
    kvloom::status const s = kvloom::qk_norm_rope_insert<m3>::launch(stream, arguments(m));
    std::printf("%s: %s\n", name, kvloom::message(s).c_str());
    return s.ok() && check(m);
}

} // namespace

int main()
{
    bool const wave = run<kvloom::host::cdna>("the CPU as a CDNA wave");
    bool const warp = run<kvloom::host::warp32>("the CPU as an NVIDIA warp");

    // What launch refuses, in words; to ask without a launch there is validate.
    memory const m;
    auto wrong       = arguments(m);
    wrong.keys.pages = -1;
    auto const s     = kvloom::qk_norm_rope_insert<m3>::validate(wrong);
    std::printf("refused: %s\n", kvloom::message(s).c_str());
    return wave && warp && !s.ok() ? 0 : 1;
}
