// SPDX-License-Identifier: MIT
// Reads the code objects of the running program: ELF files in bundles in its section .hip_fatbin.
#include "amd/estimate.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace kvloom_test {
namespace {

using sizes_by_name = std::map<std::string, kernel_size>;

constexpr std::string_view bundle_mark = "__CLANG_OFFLOAD_BUNDLE__";

template <class T>
T read_at(std::string_view const bytes, std::uint64_t const at)
{
    if (at > bytes.size() || sizeof(T) > bytes.size() - at) {
        throw std::runtime_error("a code object ends early");
    }
    T x;
    std::memcpy(&x, bytes.data() + at, sizeof x);
    return x;
}

std::vector<Elf64_Shdr> sections_of(std::string_view const elf)
{
    auto const header = read_at<Elf64_Ehdr>(elf, 0);
    std::vector<Elf64_Shdr> sections;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        sections.push_back(read_at<Elf64_Shdr>(elf, header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    return sections;
}

/// How far back a branch goes, in words, itself included; 0 for anything else. SOPP: nine bits of mark, seven of
/// operation, sixteen of a signed distance from the next instruction. A constant may look like one: that adds.
std::int64_t words_back(std::uint32_t const word)
{
    unsigned const operation = word >> 16 & 0x7f;
    bool const branches      = word >> 23 == 0x17f && (operation == 2 || (operation >= 4 && operation <= 9));
    auto const distance      = static_cast<std::int16_t>(word & 0xffff);
    return branches && distance < 0 ? -std::int64_t{distance} : 0;
}

kernel_size measure(std::string_view const code)
{
    kernel_size size;
    size.whole = static_cast<std::int64_t>(code.size() / 4);
    for (std::int64_t i = 0; i < size.whole; ++i) {
        auto const back = words_back(read_at<std::uint32_t>(code, static_cast<std::uint64_t>(4 * i)));
        auto const loop = std::min(back, i + 1);
        size.loop       = std::max(size.loop, loop);
        size.short_loop = std::max(size.short_loop, loop <= most_words_of_short ? loop : 0);
    }
    return size;
}

/// Adds the functions of one code object, by their demangled names.
void add_functions(std::string_view const elf, sizes_by_name& to)
{
    auto const sections = sections_of(elf);
    for (Elf64_Shdr const& table : sections) {
        if (table.sh_type != SHT_DYNSYM) {
            continue;
        }
        std::string_view const names = elf.substr(sections.at(table.sh_link).sh_offset);
        for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            auto const symbol = read_at<Elf64_Sym>(elf, table.sh_offset + at);
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0) {
                continue;
            }
            Elf64_Shdr const& text  = sections.at(symbol.st_shndx);
            std::uint64_t const off = text.sh_offset + symbol.st_value - text.sh_addr;
            std::string name        = names.data() + symbol.st_name;
            name                    = demangled(name.substr(0, name.find('.')).c_str());
            kernel_size const size  = measure(elf.substr(off, symbol.st_size));
            kernel_size& most       = to[name];
            most.whole              = std::max(most.whole, size.whole);
            most.loop               = std::max(most.loop, size.loop);
            most.short_loop         = std::max(most.short_loop, size.short_loop);
        }
    }
}

void add_bundle(std::string_view const bundle, sizes_by_name& to)
{
    std::uint64_t at = bundle_mark.size();
    auto const count = read_at<std::uint64_t>(bundle, at);
    at += sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < count; ++i) {
        auto const offset = read_at<std::uint64_t>(bundle, at);
        auto const size   = read_at<std::uint64_t>(bundle, at + 8);
        auto const length = read_at<std::uint64_t>(bundle, at + 16);
        if (bundle.substr(at + 24, length).find("amdgcn") != std::string_view::npos) {
            add_functions(bundle.substr(offset, size), to);
        }
        at += 24 + length;
    }
}

/// Every source's bundle lies in the section, one after the other.
sizes_by_name read_own_file()
{
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::string const bytes{std::istreambuf_iterator<char>(file), {}};
    std::string_view const elf = bytes;
    auto const sections        = sections_of(elf);
    auto const names           = elf.substr(sections.at(read_at<Elf64_Ehdr>(elf, 0).e_shstrndx).sh_offset);
    sizes_by_name sizes;
    for (Elf64_Shdr const& section : sections) {
        if (std::strcmp(names.data() + section.sh_name, ".hip_fatbin") == 0) {
            auto const all = elf.substr(section.sh_offset, section.sh_size);
            for (auto at = all.find(bundle_mark); at != std::string_view::npos;
                 at      = all.find(bundle_mark, at + 1)) {
                add_bundle(all.substr(at), sizes);
            }
        }
    }
    return sizes;
}

std::map<std::string, kernel_count> counts;

} // namespace

std::string demangled(char const* name)
{
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> const text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    return text == nullptr ? name : text.get();
}

void kernel_count::add(std::int64_t const waves_of_launch, loop_passes const passes)
{
    ++launches;
    waves += waves_of_launch;
    instructions +=
        waves_of_launch * size.whole + passes.any * size.loop + passes.through_short * size.short_loop;
}

kernel_count& count_of(std::string const& name)
{
    static sizes_by_name const sizes = read_own_file();
    auto const found                 = sizes.find(name);
    if (found == sizes.end()) {
        throw std::runtime_error("the program's code objects hold no kernel " + name);
    }
    kernel_count& count = counts[name];
    count.size          = found->second;
    return count;
}

std::map<std::string, kernel_count> const& all_counts()
{
    return counts;
}

} // namespace kvloom_test
