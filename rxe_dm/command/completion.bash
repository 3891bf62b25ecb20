# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of the command rxe_dm: what there is to complete is asked of the command itself ('rxe_dm run --completion').

# Candidates from words with bars between; names in capitals stand for what a user chooses.
_rxe_dm_values() {
	local value
	while IFS= read -r -d '|' value; do
		case $value in
		FILE | PATH)
			compopt -o filenames
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$2")
			;;
		IF) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$(ls /sys/class/net)" -- "$2") ;;
		[a-z]*) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$value" -- "$2") ;;
		esac
	done <<<"$1|"
	[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
}

# The program that is run, and its arguments, with the completion of their own if there is one.
_rxe_dm_program() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$COMP_CWORD" -eq "$1" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	else
		_rxe_dm_values FILE "$2"
	fi
}

_rxe_dm() {
	local current=$2 command=${COMP_WORDS[1]} expects='' word line at
	local -A follows=()
	COMPREPLY=()
	[ "$COMP_CWORD" -eq 1 ] || [[ $command != -* ]] || return
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$1" --completion 2>/dev/null)" -- "$current")
		return
	fi
	while read -r word line; do
		follows[$word]=$line
	done < <("$1" "$command" --completion 2>/dev/null)

	# What stands before the cursor: options and their values, then the operands.
	for ((at = 2; at < COMP_CWORD; at++)); do
		word=${COMP_WORDS[at]}
		case $expects:$word in
		*:=) ;;
		?*:*) expects='' ;;
		:--) at=$((at + 1)) && break ;;
		:-*) expects=${follows[$word]:-} ;;
		*) break ;;
		esac
	done
	word=${COMP_WORDS[at]}
	if [ -n "$expects" ]; then
		_rxe_dm_values "$expects" "$current"
	elif [[ $command = @(run|explore) ]] && { [ "$at" -lt "$COMP_CWORD" ] || [[ $current != -* ]]; }; then
		_rxe_dm_program "$at" "$current"
	elif [ "$at" -lt "$COMP_CWORD" ] && [[ $current != -* ]]; then
		_rxe_dm_values "${follows[$word]:-}" "$current"
	elif [[ $command = @(capture|report) && $current != -* ]]; then
		_rxe_dm_values FILE "$current"
	else
		mapfile -t COMPREPLY < <(compgen -W "${!follows[*]}" -- "$current")
	fi
}
complete -F _rxe_dm rxe_dm
