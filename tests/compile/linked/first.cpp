// SPDX-License-Identifier: MIT
// Every public header after the vendor's number types; and the main of the program.
#include "vendor.hpp"

#include "every.hpp"

#include "add_one.hpp"
#include "support/device_probe.hpp"

#include <cstdio>

void launch_in_first(kvloom_test::device_array<int> const& numbers)
{
    kvloom_test::on_every_machine([&](char const*, auto const& stream) {
        kvloom_test::run<add_one>(stream, add_args{numbers.data()}, 2);
    });
}

int main()
{
    auto const device = kvloom_test::probe_device();
    if (!device.found) {
        std::printf("SKIPPED: linked, but to run it needs a GPU: %s: %s\n", device.backend, device.reason);
        return 77;
    }
    int machines = 0;
    kvloom_test::on_every_machine([&](char const*, auto const&) { ++machines; });

    std::vector<int> expected(128);
    for (int i = 0; i < 128; ++i) {
        expected[i] = i;
    }
    kvloom_test::device_array<int> const numbers(expected);
    launch_in_first(numbers);
    launch_in_second(numbers);
    int wrong = 0;
    for (int i = 0; i < 128; ++i) {
        wrong += numbers.values()[i] == i + 2 * machines ? 0 : 1;
    }
    std::printf("%d of 128 numbers wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
