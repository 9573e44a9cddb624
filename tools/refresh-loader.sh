#!/bin/sh
# After 'meson install': let the loader find the library.  Root alone can, and only for this system.
[ -n "${DESTDIR-}" ] || [ "$(id -u)" != 0 ] || ldconfig
