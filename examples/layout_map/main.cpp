// SPDX-License-Identifier: MIT
// layout_map: says where an element of a paged cache lies, and draws one span of a layout.
#include "drawing.hpp"
#include "options.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace layout_map;

void describe(choice const& c, span_map const& map)
{
    std::puts(title_of(c).c_str());
    std::printf("  offset(slot, dim) = %s\n", map.formula.c_str());
    std::printf("  a span, one head of one page: %d elements, %d bytes\n", map.elements,
                map.elements * map.element_bytes);
    std::printf("  16 bytes hold %d %s\n", map.vector(),
                map.slots_share_vectors ? "slots of one dim" : "dims of one slot");
}

/// Where an element lies if the heads of a page lie one after the other, and so the pages.
void locate(request const& r, span_map const& map)
{
    int const page                = r.token / r.layout.page_size;
    int const slot                = r.token % r.layout.page_size;
    int const at                  = map.offset(slot, r.dim);
    long long const page_stride   = 1LL * r.heads * map.elements;
    long long const element       = page * page_stride + 1LL * r.head * map.elements + at;
    kvloom::span_coord const back = map.coord(at);
    if (back.slot != slot || back.dim != r.dim) {
        throw std::logic_error("the layout's coord is not the inverse of its offset");
    }
    std::printf("token %d, head %d of %d, dim %d\n", r.token, r.head, r.heads, r.dim);
    std::printf("  page %d, slot %d\n", page, slot);
    std::printf("  in the span: offset %d\n", at);
    std::printf(
        "  in the cache: %d page strides of %lld + %d head strides of %d + %d = element %lld, byte %lld\n",
        page, page_stride, r.head, map.elements, at, element, element * map.element_bytes);
    std::printf("  its 16 bytes: %s\n", held_by_vector(map, at / map.vector() * map.vector()).c_str());
}

void draw_into(std::string const& file, choice const& c, span_map const& map)
{
    if (map.elements > most_drawn) {
        throw bad_argument("the span of --svg", std::to_string(map.elements) + " elements",
                           "at most " + std::to_string(most_drawn) + " (head size times page size)");
    }
    std::ofstream out(file, std::ios::binary);
    draw(out, c, map);
    out.close();
    if (!out) {
        throw bad_argument("--svg", file.empty() ? "empty" : file, "a file that can be written");
    }
}

constexpr char const* usage =
    "usage: layout_map LAYOUT [--element bf16|fp16|fp8] [--head-size N] [--page-size N]\n"
    "                         [--token SLOT] [--heads N] [--head N] [--dim N] [--svg FILE]\n"
    "LAYOUT is shuffled_keys, shuffled_values, transposed_values or token_rows.\n";

} // namespace

int main(int argc, char** argv)
{
    try {
        request const r    = parse(std::vector<std::string>(argv + 1, argv + argc));
        span_map const map = find(r.layout);
        describe(r.layout, map);
        if (r.has_query) {
            locate(r, map);
        }
        if (!r.svg.empty()) {
            draw_into(r.svg, r.layout, map);
        }
        return 0;
    } catch (bad_argument const& error) {
        std::fprintf(stderr, "layout_map: %s\n%s", error.what(), usage);
        return 2;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "layout_map: %s\n", error.what());
        return 1;
    }
}
