# SPDX-License-Identifier: GPL-2.0
# Functions of the benchmark's parts.  They source this file after scripts/lib.sh.
# shellcheck shell=bash disable=SC2154

# options LISTS VALUES FLAGS ARGUMENT...: takes the options of a part.  An option in LISTS may be
# repeated, and adds its value to the variable of its plural.  One in VALUES sets its variable to its
# value, and one in FLAGS sets it to 1.
options() {
	local lists=" $1 " values=" $2 " flags=" $3 " name
	shift 3
	while [ $# -gt 0 ]; do
		name=${1#--}
		if [ "$1" = -h ] || [ "$1" = --help ]; then
			usage "$0"
			exit
		elif [[ $1 = --* && $lists = *" $name "* ]]; then
			declare -g "${name%s}s+= $2"
			shift
		elif [[ $1 = --* && $values = *" $name "* ]]; then
			declare -g "$name=$2"
			shift
		elif [[ $1 = --* && $flags = *" $name "* ]]; then
			declare -g "$name=1"
		else
			die "unknown option $1 (see --help)"
		fi
		shift
	done
}

# order_of ROUND: prints $modules, in reverse order in every other round
order_of() {
	# shellcheck disable=SC2086 # a list
	set -- $1 $modules
	[ $(($1 % 2)) = 1 ] && echo "${@:2}" || printf '%s\n' "${@:2}" | tac | xargs
}
