# SPDX-License-Identifier: GPL-2.0
# Shared by all parts of the benchmark that measure in rounds.  Sourced.
# shellcheck shell=bash disable=SC2154

# order_of ROUND: $modules, each of which comes first as often as the others
order_of() {
	# shellcheck disable=SC2086 # a list
	set -- $1 $modules
	[ $(($1 % 2)) = 1 ] && echo "${@:2}" || printf '%s\n' "${@:2}" | tac | xargs
}
