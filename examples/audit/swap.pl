#!/usr/bin/env perl
# Replaces each word, with probability 0.3, by one drawn from a public list of five.
# Claims: whatever one word of the list is changed to another, the loss is at most 1.5.
use strict;
use warnings;

$| = 1;
my @public = qw(rome paris dog cat food);
while (my $line = <STDIN>) {
    print join(" ", map { rand() < 0.3 ? $public[rand @public] : $_ } split(" ", $line)), "\n";
}
