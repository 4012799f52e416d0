/**
 * Node's HTTP server. To `import` node:http reads all its exports, and with them Node's own fetch and WebSocket, which are not
 * used here: 1.5 MiB of every process.
 */
export const { createServer, Server, STATUS_CODES } = process.getBuiltinModule('node:http')
