/** nginx as a plain reverse proxy with one worker: the reference of every run. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { childrenOf } from './consumption.ts'
import { MEASURED_CORE, type Process, startProcess, untilReady } from './processes.ts'

export interface NginxOptions {
  readonly directory: string
  readonly port: number
  readonly streamPort: number
  readonly upstreamPort: number
  /** nginx reserves memory for each, so that a run that needs few should request few. */
  readonly connectionsMax: number
}

export interface Nginx extends Process {
  /** The worker does the work; the master only waits. */
  readonly workerPid: number
}

export async function startNginx(options: NginxOptions): Promise<Nginx> {
  mkdirSync(options.directory)
  const file = join(options.directory, 'nginx.conf')
  writeFileSync(file, configuration(options))
  const started = startProcess({
    name: 'nginx',
    core: MEASURED_CORE,
    program: 'nginx',
    arguments: ['-p', options.directory, '-c', file, '-e', 'error.log'],
    outputFile: join(options.directory, 'output.log'),
  })
  await untilReady(started, `http://127.0.0.1:${options.port}/health`)
  const workerPid = childrenOf(started.pid)[0]
  if (workerPid === undefined) throw new Error('nginx has no worker process')
  return { ...started, workerPid }
}

/**
 * Answers are buffered in memory by nginx's default; streams have a port without that. Connections are never closed
 * because of their number of requests, to the client or upstream.
 */
function configuration(options: NginxOptions): string {
  return `daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid nginx.pid;
error_log error.log warn;
events { worker_connections ${options.connectionsMax}; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  client_body_buffer_size 1m;
  proxy_max_temp_file_size 0;
  keepalive_requests 1000000000;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  upstream up {
    server 127.0.0.1:${options.upstreamPort};
    keepalive 256;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${options.port};
    location / { proxy_pass http://up; }
  }
  server {
    listen 127.0.0.1:${options.streamPort};
    location / {
      proxy_pass http://up;
      proxy_buffering off;
    }
  }
}
`
}
