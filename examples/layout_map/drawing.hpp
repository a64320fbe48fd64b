// SPDX-License-Identifier: MIT
// A span drawn as SVG: its elements in the order of memory, coloured by slot, and what each 16 bytes hold.
#pragma once

#include "span_map.hpp"

#include <ostream>
#include <string>

namespace layout_map {

/// The most elements that a drawing may hold and still be read.
inline constexpr int most_drawn = 4096;

/// "slot 3, dims 8-15": what the vector that begins at `at` holds.
inline std::string held_by_vector(span_map const& map, int at)
{
    kvloom::span_coord const first = map.coord(at);
    kvloom::span_coord const last  = map.coord(at + map.vector() - 1);
    auto const range               = [](char const* name, int from, int to) {
        return from == to ? name + (" " + std::to_string(from))
                                        : name + ("s " + std::to_string(from)) + "-" + std::to_string(to);
    };
    return range("slot", first.slot, last.slot) + ", " + range("dim", first.dim, last.dim);
}

/// Writes SVG of integers alone, so that every machine writes the same bytes.
inline void draw(std::ostream& out, choice const& c, span_map const& map)
{
    constexpr char const* colours[] = {"#f4b6b6", "#b6d7f4", "#f4dcb0", "#c9b8f0", "#c3e8b4", "#f2bfe0",
                                       "#b4ead9", "#e3e39a", "#e8a58c", "#93bfe6", "#e6c27a", "#a995dd",
                                       "#9fd18a", "#dd95c6", "#8ccfc0", "#c4c46c"};
    constexpr int vector_width      = 112;
    constexpr int height            = 20; // of a line, of which a cell leaves one pixel blank
    constexpr int vectors_a_line    = 4;
    constexpr int left              = 60;
    constexpr int top               = 54;
    int const x                     = map.vector();
    int const cell                  = vector_width / x;
    int const vectors               = map.elements / x;
    int const lines                 = (vectors + vectors_a_line - 1) / vectors_a_line;
    int const legend                = top + lines * height + 12;
    int const width                 = left + vectors_a_line * vector_width + 12;
    int const swatches              = c.page_size < 16 ? c.page_size : 16;
    std::string const title         = title_of(c);
    auto const column = [&](int vector) { return left + vector % vectors_a_line * vector_width; };
    auto const line   = [&](int vector) { return top + vector / vectors_a_line * height; };

    out << "<!-- SPDX-License-Identifier: MIT -->\n"
        << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << ' ' << legend + 28
        << "\" width=\"" << width << "\" height=\"" << legend + 28
        << "\" font-family=\"sans-serif\" font-size=\"10\" fill=\"#222\">\n"
        << "<title>" << title << "</title>\n"
        << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        << "<text x=\"8\" y=\"18\" font-size=\"13\" font-weight=\"bold\">" << title << "</text>\n"
        << "<text x=\"8\" y=\"34\">one head of one page in the order of memory, 64 bytes a line; "
        << "each box is 16 bytes</text>\n";

    for (int slot = 0; slot < c.page_size; ++slot) {
        out << "<path fill=\"" << colours[slot % 16] << "\" d=\"";
        for (int dim = 0; dim < c.head_size; ++dim) {
            int const at = map.offset(slot, dim);
            out << 'M' << column(at / x) + at % x * cell << ' ' << line(at / x) << 'h' << cell - 1 << 'v'
                << height - 1 << 'h' << 1 - cell << 'z';
        }
        out << "\"/>\n";
    }
    out << "<g fill=\"none\" stroke=\"#555\">\n";
    for (int v = 0; v < vectors; ++v) {
        out << "<rect x=\"" << column(v) << "\" y=\"" << line(v) << "\" width=\"" << vector_width - 1
            << "\" height=\"" << height - 1 << "\"/>\n";
    }
    out << "</g>\n<g text-anchor=\"middle\">\n";
    for (int v = 0; v < vectors; ++v) {
        out << "<text x=\"" << column(v) + vector_width / 2 << "\" y=\"" << line(v) + 13 << "\">"
            << held_by_vector(map, v * x) << "</text>\n";
    }
    out << "</g>\n<g fill=\"#777\">\n";
    for (int v = 0; v < vectors_a_line && v < vectors; ++v) {
        out << "<text x=\"" << column(v) << "\" y=\"" << top - 5 << "\">+" << v * x << "</text>\n";
    }
    out << "</g>\n<g fill=\"#777\" text-anchor=\"end\">\n";
    for (int v = 0; v < vectors; v += vectors_a_line) {
        out << "<text x=\"" << left - 6 << "\" y=\"" << line(v) + 13 << "\">" << v * x << "</text>\n";
    }
    out << "</g>\n<text x=\"8\" y=\"" << legend + 13 << "\">" << (c.page_size > 16 ? "slot % 16" : "slot")
        << "</text>\n";
    for (int slot = 0; slot < swatches; ++slot) {
        out << "<rect x=\"" << left + slot * 32 << "\" y=\"" << legend
            << "\" width=\"31\" height=\"18\" fill=\"" << colours[slot] << "\"/><text x=\""
            << left + slot * 32 + 8 << "\" y=\"" << legend + 13 << "\">" << slot << "</text>\n";
    }
    out << "</svg>\n";
}

} // namespace layout_map
