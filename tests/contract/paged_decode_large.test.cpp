// SPDX-License-Identifier: MIT
// Paged decode of caches past 2^32 elements, and of more sequences than a grid's smaller sides hold.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

struct far_apart : decode_problem
{
    using key_cache   = shuffled_keys<fp8_e4m3, 64>;
    using value_cache = shuffled_values<fp8_e4m3, 64>;
    using lse         = natural_lse;
};

/// Memory of which only what is written to need exist.
class wide_storage
{
public:
    explicit wide_storage(std::size_t const bytes) : memory_(backend_memory::allocate(bytes)) {}
    ~wide_storage() { backend_memory::release(memory_); }
    wide_storage(wide_storage const&)            = delete;
    wide_storage& operator=(wide_storage const&) = delete;

    fp8_e4m3* data() const { return static_cast<fp8_e4m3*>(memory_); }

private:
    void* memory_;
};

} // namespace

TEST_CASE("pages past 2^32 elements give the bytes that near ones give", "[contract][cases][large]") // B05
{
    std::int64_t const stride = std::int64_t{1} << 30;
    decode_options o;
    o.lengths    = {75};
    auto const s = scene_for<far_apart>(o);
    REQUIRE(*std::max_element(s.ids[0].begin(), s.ids[0].begin() + 5) * stride >= std::int64_t{1} << 32);
    wide_storage const storage(static_cast<std::size_t>(s.keys.pages * stride));
    std::int64_t const after = stride / 2; // K and V of a page in one storage
    for (std::int64_t page = 0; page < s.keys.pages; ++page) {
        auto const bytes = static_cast<std::size_t>(s.keys.page_stride);
        auto const from  = static_cast<std::ptrdiff_t>(page * s.keys.page_stride);
        backend_memory::upload(storage.data() + page * stride, s.key_block.bytes.data() + from, bytes);
        backend_memory::upload(storage.data() + page * stride + after, s.value_block.bytes.data() + from,
                               bytes);
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        decode_call<far_apart> near_by(stream, s), far(stream, s);
        far.args.keys.data          = storage.data();
        far.args.values.data        = storage.data() + after;
        far.args.keys.page_stride   = stride;
        far.args.values.page_stride = stride;
        near_by.run(stream);
        far.run(stream);
        CHECK((near_by.out() == far.out()));
        CHECK((near_by.lse() == far.lse()));
        check_call(near_by, s, expect(s, logit_of<plain_logits>(s), false));
    });
}

TEST_CASE("65 600 sequences: the last one is its value", "[contract][cases][large]") // B08
{
    decode_options o;
    o.lengths.assign(65600, 0);
    std::vector<int> const held = {0, 1, 32767, 32768, 65535, 65536, 65599}; // have one token each
    for (int const i : held) {
        o.lengths[static_cast<std::size_t>(i)] = 1;
    }
    o.heads      = 1;
    o.blocks     = 64;
    auto const s = scene_for<far_apart>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        decode_call<far_apart> call(stream, s);
        call.run(stream);
        auto const out = call.out();
        for (int const i : held) {
            for (int d = 0; d < s.out_rows.dim; ++d) {
                CAPTURE(machine, i, d);
                std::int64_t const at =
                    page_model::offset(s.values, s.ids[static_cast<std::size_t>(i)][0], 0, 0, d);
                REQUIRE(kvloom_test::detail::number_in(s.shape.out, out, s.out_rows.at(i, 0) + d)
                        == kvloom_test::detail::number_in(s.values.type, s.value_block.bytes, at));
            }
        }
        CHECK(call.trespasses() == "");
    });
}
