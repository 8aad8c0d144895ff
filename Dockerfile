# The service and every `leadtap` command in one image. docs/deployment.md explains how to run it.

# On the machine that builds, for every platform of the image: what it makes is JavaScript, and SQLite comes built for each.
FROM --platform=$BUILDPLATFORM node:24-slim AS build
WORKDIR /app

# The manifests first: dependencies are installed again only when one of these files changes.
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/server/package.json packages/server/
COPY integrations/zapier/package.json integrations/zapier/
COPY packages/client/package.json packages/client/
COPY packages/console/package.json packages/console/
# Without the dependencies of the other packages.
RUN npm ci --workspace leadtap --workspace @leadtap/console --include-workspace-root --no-audit --no-fund

COPY LICENSE tsconfig.base.json deploy/container/healthcheck.mjs ./
COPY packages packages
# The console offers files of them as downloads.
COPY integrations integrations
RUN npx tsc --build packages/server packages/client packages/client/cjs integrations/n8n/node integrations/activepieces/piece && npx vite build packages/console && rm -rf packages/console && npm prune --omit=dev --workspace leadtap --include-workspace-root --no-audit --no-fund
# Modes come from the machine that builds: under a strict umask the service could not read its own code.
RUN mkdir data && chmod -R a+rX LICENSE healthcheck.mjs packages


FROM node:24-slim
WORKDIR /app
# Addresses inside the container's private network; the operator decides which ports to publish.
ENV NODE_ENV=production \
    LEADTAP_HOST=0.0.0.0 \
    LEADTAP_METRICS_ADDRESS=0.0.0.0:9464 \
    PATH=/app/node_modules/.bin:$PATH

# Layers that change rarely come first. All files belong to root, so the service cannot change its own code.
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/LICENSE /app/healthcheck.mjs ./
COPY --from=build /app/packages packages

# The SQLite file, and the signing key if none was configured. Empty and unused with PostgreSQL and LEADTAP_SIGNING_KEY.
COPY --from=build --chown=1000:1000 /app/data data
VOLUME /app/data

# The image's own user `node`, as a number, so that Kubernetes can see that it is not root.
USER 1000:1000
EXPOSE 3000 9464

# Checks the process, not the database: a restart would not fix the database.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "/app/healthcheck.mjs"]

# Without shell and npm, so that node gets SIGTERM.
ENTRYPOINT ["node", "--max-semi-space-size=16", "--max-old-space-size=384", "/app/packages/server/bin/leadtap.js"]
CMD ["serve"]

ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Leadtap" \
      org.opencontainers.image.description="New leads on tap: one polling endpoint that never loses a lead" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
