/** A real nginx in front of gateways, as a child process: a server for each pair of a gateway and its settings. */
import { spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { freePort } from './free-port.ts'
import { collectOutput, isOver, stop, untilExit } from './gateway-process.ts'
import { gw } from './gw-here.ts'
import { answers, until } from './until.ts'

export interface NginxServer {
  /** The origin of the gateway behind it. */
  readonly to: string
  /** Directives of the server, by name; omitted ones have nginx's default. */
  readonly settings: Readonly<Record<string, string>>
  /** How long an idle connection to the gateway is kept; absent: each request has a new one. */
  readonly keptFor?: string
  /** A path of it that answers 200; absent: that of a gateway. */
  readonly readyPath?: string
}

export interface Nginx {
  /** The origins of the servers, in their order. */
  readonly urls: readonly string[]
  /** Sends the requests of the first server to another origin from now on, by a reload as an operator does it. */
  moveTo(origin: string): Promise<void>
  stop(): Promise<void>
}

/** The settings that `gw expose` prints for the controllers of NGINX, in the form of their nginx. */
export async function nginxRecipe(): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await gw('expose', '--for', 'nginx', '--host', 'models.test')
  const { annotations } = parseAllDocuments(stdout)[0]?.toJS().metadata ?? {}
  return {
    client_max_body_size: annotations['nginx.org/client-max-body-size'],
    proxy_read_timeout: annotations['nginx.org/proxy-read-timeout'],
  }
}

export async function startNginx(servers: readonly NginxServer[]): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-nginx-'))
  const ports: number[] = []
  for (const _ of servers) ports.push(await freePort())
  const write = (all: readonly NginxServer[]) =>
    writeFile(join(folder, 'nginx.conf'), configurationOf(all, ports))
  await write(servers)
  const child = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'])
  const output = collectOutput(child)
  const exited = untilExit(child, folder)
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  await until(
    'nginx answers',
    () => isOver(child) || answers(`${urls[0]}${servers[0]?.readyPath ?? '/readyz'}`),
  )
  if (isOver(child)) throw new Error(`nginx has ended:\n${output()}`)
  return {
    urls,
    async moveTo(origin) {
      const [first, ...rest] = servers
      if (first !== undefined) await write([{ ...first, to: origin }, ...rest])
      child.kill('SIGHUP')
    },
    stop: () => stop(child, exited),
  }
}

function configurationOf(servers: readonly NginxServer[], ports: readonly number[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${name};`).join('\n  ')}
  proxy_http_version 1.1;
  ${servers.map((server, index) => serverOf(server, index, ports[index])).join('\n  ')}
}
`
}

function serverOf({ to, settings, keptFor }: NginxServer, index: number, port = 0): string {
  const directives = Object.entries(settings).map(([name, value]) => `${name} ${value};`)
  const kept = keptFor === undefined ? '' : `keepalive 1024; keepalive_timeout ${keptFor};`
  return `upstream gateway${index} { server ${new URL(to).host}; ${kept} }
  server {
    listen 127.0.0.1:${port};
    ${directives.join(' ')}
    location / { proxy_pass http://gateway${index}; ${kept && 'proxy_set_header Connection "";'} }
  }`
}
