/** The system programs that the node needs, and how they are run. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export const BUSYBOX = '/bin/busybox'
export const NETWORK_PLUGINS = '/usr/lib/cni'

/** What is looked for, and the Debian package that brings it. */
const NEEDED: readonly (readonly [file: string, debian: string])[] = [
  ['containerd', 'containerd'],
  ['ctr', 'containerd'],
  ['runc', 'runc'],
  [`${NETWORK_PLUGINS}/ptp`, 'containernetworking-plugins'],
  ['iptables', 'iptables'],
  ['nft', 'nftables'],
  ['conntrack', 'conntrack'],
  ['socat', 'socat'],
  ['ip', 'iproute2'],
  ['sysctl', 'procps'],
  ['openssl', 'openssl'],
  [BUSYBOX, 'busybox-static'],
]

/** Debian packages that are missing. */
export function missingPackages(): string[] {
  const missing = NEEDED.filter(([file]) => !isThere(file)).map(([, debian]) => debian)
  return [...new Set(missing)]
}

export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, args, { maxBuffer: 16 * 1024 * 1024 })
  return stdout
}

function isThere(file: string): boolean {
  if (file.includes('/')) return existsSync(file)
  return spawnSync('sh', ['-c', `command -v ${file}`], { stdio: 'ignore' }).status === 0
}
