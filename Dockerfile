# An image of tavolad and tavola: docs/operations.md, "In a container".
FROM debian:12-slim AS build
COPY . /src
RUN /src/run --no-start && DESTDIR=/image meson install -C /src/build --no-rebuild --tags runtime

FROM debian:12-slim
RUN apt-get update && \
    apt-get install -y --no-install-recommends \
        libuv1 librocksdb7.8 libssl3 libexpat1 libedit2 && \
    rm -rf /var/lib/apt/lists/* && \
    useradd --system --uid 10000 tavola && \
    install -d -o tavola -g tavola -m 700 /data
COPY --from=build /image /
RUN ldconfig
USER tavola
VOLUME /data
# "azurite" is what programs that bring Azurite up call as the command: docs/azurite.md.
ENV PATH=/usr/local/lib/tavola:/usr/local/bin:/usr/bin:/bin
# The neighbours of a container call it by its name, and every one of them is another machine: the
# well-known key is for them here.  TAVOLA_ALLOW_DEV_ACCOUNT=0, or accounts of your own, end that.
ENV TAVOLA_DATA=/data TAVOLA_HOST=0.0.0.0 TAVOLA_ALLOW_DEV_ACCOUNT=1
EXPOSE 10000 10001 10002
CMD ["tavolad"]
