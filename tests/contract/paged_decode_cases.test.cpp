// SPDX-License-Identifier: MIT
// Paged decode with the values of reported faults: tails, empty sequences, cuts, masks and sinks, worked out by hand.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

struct plain : decode_problem
{
    using lse = natural_lse;
};
struct of_64_dims : decode_problem
{
    using key_cache   = shuffled_keys<bf16, 64>;
    using value_cache = shuffled_values<bf16, 64>;
};
struct windowed : decode_problem
{
    using window = sliding_window;
};
struct sunk : decode_problem
{
    using sinks = head_sinks;
    using lse   = base2_lse;
};

double zero(int, std::int64_t, int, int)
{
    return 0.0;
}
double one(int, std::int64_t, int, int)
{
    return 1.0;
}
double token_number(int, std::int64_t const token, int, int)
{
    return static_cast<double>(token);
}

/// Queries of zero: every token seen counts the same.
decode_options even_weights(std::vector<std::int64_t> lengths, element_rule const& value)
{
    decode_options o;
    o.lengths  = std::move(lengths);
    o.heads    = 3;
    o.kv_heads = 1;
    o.query    = zero;
    o.value    = value;
    return o;
}

/// Runs a scene on every machine and hands its call over.
template <class Problem, class Check>
void run_by_hand(decode_scene const& s, Check const& check)
{
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, s.options.lengths, s.options.blocks);
        decode_call<Problem> call(stream, s);
        call.run(stream);
        CHECK(call.trespasses() == "");
        check(call);
    });
}

/// Whether every dim of every head of a query token is `number`.
bool is_throughout(decode_scene const& s, std::vector<unsigned char> const& out, int const token,
                   double const number)
{
    for (int head = 0; head < s.options.heads; ++head) {
        for (int d = 0; d < s.out_rows.dim; ++d) {
            std::int64_t const at = s.out_rows.at(token, head) + d;
            double const got      = kvloom_test::detail::number_in(s.shape.out, out, at);
            if (got != number) {
                UNSCOPED_INFO("head " << head << ", dim " << d << " is " << got << ", not " << number);
                return false;
            }
        }
    }
    return true;
}

template <class Problem>
void check_throughout(decode_options const& options, std::vector<double> const& numbers)
{
    auto const s = scene_for<Problem>(options);
    run_by_hand<Problem>(s, [&](decode_call<Problem> const& call) {
        for (std::size_t token = 0; token < numbers.size(); ++token) {
            CAPTURE(token);
            CHECK(is_throughout(s, call.out(), static_cast<int>(token), numbers[token]));
        }
    });
}

} // namespace

TEST_CASE("a page id out of range is no page, and page 0 least of all", "[contract][cases]") // B03
{
    auto o      = even_weights({40}, token_number);
    auto s      = scene_for<plain>(o);
    s.ids[0][1] = 99;
    s.table     = make_ids(s.ids[0], false);
    auto const m =
        scalar_model::round_to(scalar_model::dtype::bf16, 404.0F / 24.0F); // tokens 0..15 and 32..39
    run_by_hand<plain>(s, [&](auto const& call) { CHECK(is_throughout(s, call.out(), 0, m)); });
}

TEST_CASE("NaN and infinities in slots that hold no token change no bit", "[contract][cases]") // B34
{
    decode_options o;
    o.lengths  = {13};
    o.stale    = 0;
    auto zeros = scene_for<plain>(o);
    for (int const code : {0x7FC0, 0xFFFF, 0x7F80, 0xFF80}) {
        o.stale          = code;
        auto const other = scene_for<plain>(o);
        on_every_machine([&](char const* machine, auto const& stream) {
            CAPTURE(machine, code);
            CHECK((bytes_of<plain>(stream, other) == bytes_of<plain>(stream, zeros)));
        });
    }
}

TEST_CASE("the length alone says where a sequence ends", "[contract][cases]") // B37
{
    auto o  = even_weights({20}, token_number);
    o.stale = 0x447A; // 1000
    check_throughout<plain>(o, {9.5});

    o.lengths       = {16};
    auto s          = scene_for<plain>(o);
    int const spare = s.ids[0][0] == 0 ? 1 : 0; // a page that holds 1000 throughout
    s.table         = make_ids({s.ids[0][0], spare, spare, spare, spare}, false);
    run_by_hand<plain>(s, [&](auto const& call) { CHECK(is_throughout(s, call.out(), 0, 7.5)); });

    o.lengths.clear();
    std::vector<double> means;
    for (int length = 1; length <= 70; ++length) {
        o.lengths.push_back(length);
        means.push_back((length - 1) / 2.0);
    }
    check_throughout<plain>(o, means);
}

TEST_CASE("a sequence without tokens gives zeros, and its page table is not read", "[contract][cases]") // B38
{
    decode_options o;
    o.lengths  = {7, 0, 33};
    auto batch = scene_for<plain>(o);
    auto ids   = batch.ids;
    std::vector<std::int64_t> table;
    for (std::size_t i = 0; i < 3; ++i) {
        ids[i].resize(static_cast<std::size_t>(batch.table_stride), 0);
        if (i == 1) {
            ids[i].assign(ids[i].size(), std::numeric_limits<std::int32_t>::min());
        }
        table.insert(table.end(), ids[i].begin(), ids[i].end());
    }
    batch.table = make_ids(table, false);
    run_by_hand<plain>(batch, [&](decode_call<plain> const& call) {
        CHECK(is_throughout(batch, call.out(), 1, 0.0));
        CHECK(kvloom_test::detail::number_in(scalar_model::dtype::fp32, call.lse(), batch.lse_stride)
              == -std::numeric_limits<double>::infinity());
    });
    for (int const i : {0, 2}) {
        auto alone           = o;
        alone.lengths        = {o.lengths[static_cast<std::size_t>(i)]};
        alone.first_sequence = i;
        auto const single    = scene_for<plain>(alone);
        on_every_machine([&](char const* machine, auto const& stream) {
            CAPTURE(machine, i);
            decode_call<plain> of_all(stream, batch), of_one(stream, single);
            of_all.run(stream);
            of_one.run(stream);
            auto const all = of_all.out(), part = of_one.out();
            CHECK(std::equal(part.begin(), part.end(),
                             all.begin() + i * static_cast<std::ptrdiff_t>(part.size())));
        });
    }
}

TEST_CASE("a grid with more blocks than there is work changes nothing", "[contract][cases]") // B40
{
    decode_options o;
    o.lengths = {5};
    auto s    = scene_for<plain>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        s.options.blocks = 1;
        auto const whole = bytes_of<plain>(stream, s);
        s.options.blocks = 8;
        CHECK((bytes_of<plain>(stream, s) == whole));
    });
}

TEST_CASE("there is no most to the parts of a sequence", "[contract][cases][large]") // B42
{
    auto o = even_weights({40000}, [](int, std::int64_t const token, int, int) { return double(token % 2); });
    o.blocks = 157;
    check_throughout<of_64_dims>(o, {0.5});
    o.blocks = 1;
    check_throughout<of_64_dims>(o, {0.5});

    std::int64_t const last = 262144;
    o.lengths               = {last + 1};
    o.query                 = one;
    o.key    = [](int, std::int64_t const token, int, int) { return token == last ? 8.0 : 0.0; };
    o.value  = [](int, std::int64_t const token, int, int) { return token == last ? 3.0 : 1.0; };
    o.blocks = 40;
    check_throughout<of_64_dims>(o, {3.0});
}

TEST_CASE("logarithms are natural, and the scale is applied once, as given", "[contract][cases]") // B44
{
    decode_options o;
    o.lengths    = {1};
    o.heads      = 1;
    o.scale      = 0.25F; // not 1 / sqrt(128)
    o.query      = [](int, std::int64_t, int, int const d) { return d == 0 ? 12.0 : 0.0; };
    o.key        = [](int, std::int64_t, int, int const d) { return d == 0 ? 1.0 : 0.0; };
    auto const s = scene_for<plain>(o);
    run_by_hand<plain>(s, [](decode_call<plain> const& call) {
        double const got = kvloom_test::detail::number_in(scalar_model::dtype::fp32, call.lse(), 0);
        CHECK(std::fabs(got - 3.0) < 1e-5);
    });

    o         = decode_options{};
    o.lengths = {300};
    auto cut  = scene_for<plain>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        cut.options.blocks = 1;
        auto const whole   = bytes_of<plain>(stream, cut);
        for (int const blocks : {2, 8}) {
            CAPTURE(machine, blocks);
            cut.options.blocks = blocks;
            CHECK((bytes_of<plain>(stream, cut) == whole));
        }
    });
}

TEST_CASE("new tokens are the last of a sequence", "[contract][cases]") // B45
{
    auto o  = even_weights({5}, token_number);
    o.count = 2;
    check_throughout<plain>(o, {1.5, 2.0});
}

TEST_CASE("a window is the number of keys seen, the query's own included", "[contract][cases]") // B47
{
    auto o   = even_weights({10}, token_number);
    o.window = 4;
    check_throughout<windowed>(o, {7.5});
    o.count = 2;
    check_throughout<windowed>(o, {6.5, 7.5});
    o.window = 1;
    check_throughout<windowed>(o, {8.0, 9.0});

    decode_options any;
    any.lengths = {1100, 40, 1}; // of the last sequence, most query tokens lie before token 0
    any.count   = 5;
    auto none   = scene_for<windowed>(any);
    on_every_machine([&](char const* machine, auto const& stream) {
        none.options.window = 0;
        auto const all      = bytes_of<windowed>(stream, none);
        for (int const window :
             {1100, 5000, std::numeric_limits<int>::max(), -1, std::numeric_limits<int>::min()}) {
            CAPTURE(machine, window);
            none.options.window = window;
            CHECK((bytes_of<windowed>(stream, none) == all));
        }
    });
}

TEST_CASE("what lies before a window does not matter", "[contract][cases]")
{
    for (int const window : {1, 16, 33, 300, 1024, 1500}) {
        decode_options o;
        o.lengths         = {1700, 2049, 5};
        o.count           = 2;
        o.window          = window;
        auto const or_nan = [=](double const number) { // what even the first query token does not see
            return [=](int const sequence, std::int64_t const token, int const head, int const d) {
                bool const seen  = token > o.lengths[static_cast<std::size_t>(sequence)] - o.count - window;
                double const any = number + static_cast<double>((token * 7 + head + d * 3) % 11) / 8.0;
                return seen ? any : std::numeric_limits<double>::quiet_NaN();
            };
        };
        o.key   = or_nan(-0.5);
        o.value = or_nan(0.25);
        for (int const blocks : {1, 4}) {
            o.blocks = blocks;
            check_decode<windowed>(o);
        }
    }
}

TEST_CASE("a sink counts once, as given, however the work is cut", "[contract][cases]") // B49
{
    auto o = even_weights({3, 0}, one);
    o.sink = [](int) { return 0.0; };
    for (int const blocks : {1, 2, 3, 8}) {
        o.blocks = blocks;
        check_throughout<sunk>(o, {0.75, 0.0});
    }
    o.sink = [](int) { return std::log(3.0); }; // not multiplied by the softmax scale
    check_throughout<sunk>(o, {0.5, 0.0});

    decode_options any;
    any.lengths = {2100, 0, 300};
    any.count   = 2;
    for (int const blocks : {1, 2, 5}) {
        any.blocks = blocks;
        check_decode<sunk>(any);
    }
}

TEST_CASE("heads that do not divide are refused and nothing is launched", "[contract][cases]") // B51
{
    decode_options o;
    o.heads      = 33;
    o.kv_heads   = 2;
    auto const s = scene_for<plain>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        decode_call<plain> call(stream, s);
        std::string const refusal = "query.heads must be a multiple of 2, but is 33";
        CHECK(text_of(paged_decode<plain>::prepare_workspace(stream, call.args)) == refusal);
        CHECK(text_of(paged_decode<plain>::plan(stream, call.args)) == refusal);
        CHECK(text_of(paged_decode<plain>::launch(stream, call.args)) == refusal);
        backend_memory::finish();
        CHECK((call.out() == s.out.bytes));
    });
}
