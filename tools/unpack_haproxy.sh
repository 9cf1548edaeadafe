#!/bin/sh
# Unpack Debian's HAProxy and those of its libraries that are not installed into FOLDER/haproxy, and write a script that
# runs it as FOLDER/bin/haproxy. Nothing is installed, so root is not needed and no service is started.
set -eu
folder=$(cd "$1" && pwd)
packages=$(apt-get install --simulate --no-install-recommends haproxy | sed -n 's/^Inst \([^ ]*\).*/\1/p')
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
(cd "$fetched" && apt-get download -qq $packages 2>/dev/null)
rm -rf "$folder/haproxy"
for package in "$fetched"/*.deb; do dpkg -x "$package" "$folder/haproxy"; done
libraries=$(find "$folder/haproxy" -name '*.so*' -exec dirname {} + | sort -u | paste -sd:)
printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$libraries" "$folder/haproxy/usr/sbin/haproxy" >"$folder/bin/haproxy"
chmod +x "$folder/bin/haproxy"
