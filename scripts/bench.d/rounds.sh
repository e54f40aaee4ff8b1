# SPDX-License-Identifier: GPL-2.0
# A function of the benchmark's parts that measure in rounds.  They source this file.
# shellcheck shell=bash disable=SC2154

# order_of ROUND: prints $modules, in reverse order in every other round
order_of() {
	# shellcheck disable=SC2086 # a list
	set -- $1 $modules
	[ $(($1 % 2)) = 1 ] && echo "${@:2}" || printf '%s\n' "${@:2}" | tac | xargs
}
