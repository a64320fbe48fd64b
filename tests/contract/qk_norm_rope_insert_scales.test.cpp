// SPDX-License-Identifier: MIT
// Scales that rows find for themselves, scales for each head, queries in fp8: the fused insert writes the model's bytes.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: a scale for each token and head", "[contract][kernel]")
{
    check_problem<token_scales>(30);
    check_problem<token_scales_rows>(31);
    check_problem<token_scales_exact>(32);
}

TEST_CASE("the fused insert writes the model's bytes: other rules for scales per token", "[contract][kernel]")
{
    check_problem<token_writer>(33);
    check_problem<quant_shuffle>(34);
}

TEST_CASE("the fused insert writes the model's bytes: a scale for each head, packed blocks",
          "[contract][kernel]")
{
    check_problem<packed_head_scales>(35);
    check_problem<packed_bf16>(36);
    check_problem<packed_rows>(37);
}
