// SPDX-License-Identifier: MIT
// A file without kvloom: the flags that it is compiled with are the consumer's own.
int consumer_reference()
{
    return 17;
}
