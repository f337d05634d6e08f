#!/bin/sh
# Say where files can be kept in memory for as long as tests run: nothing if there is no such place.
place=/dev/shm
free=$(df -Pk "$place" 2>/dev/null | awk 'NR == 2 { print $4 }')
[ -w "$place" ] && [ "${free:-0}" -gt 2097152 ] || exit 0
grep -q "^tmpfs $place tmpfs .*noexec" /proc/mounts && exit 0
echo "$place"
