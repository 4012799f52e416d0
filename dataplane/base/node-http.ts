/**
 * Node's HTTP server. An `import` of node:http reads all its exports, including Node's own fetch and WebSocket, which
 * would cost each process 1.5 MiB.
 */
export const { createServer, Server, STATUS_CODES } = process.getBuiltinModule('node:http')
