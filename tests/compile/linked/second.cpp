// SPDX-License-Identifier: MIT
// Every public header before the vendor's number types, in a second file of the program.
#include "every.hpp"

#include "vendor.hpp"

#include "add_one.hpp"

void launch_in_second(kvloom_test::device_array<int> const& numbers)
{
    kvloom_test::on_every_machine([&](char const*, auto const& stream) {
        kvloom_test::run<add_one>(stream, add_args{numbers.data()}, 2);
    });
}
