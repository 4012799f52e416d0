/** The system programs that the node needs, and how they are run. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export const BUSYBOX = '/bin/busybox'
export const NETWORK_PLUGINS = '/usr/lib/cni'

/** The commands, and the Debian packages that contain them. */
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
]

/** For each command, a shell command that fails if it is missing. */
export function nodeNeeds(): Record<string, string> {
  const command = (file: string) => (file.includes('/') ? `[ -e ${file} ]` : `command -v ${file}`)
  const needs = Object.fromEntries(NEEDED.map(([file, debian]) => [command(file), debian]))
  // Debian's other busybox needs libraries, which its container would lack.
  return { ...needs, [`[ -e ${BUSYBOX} ] && ! ldd ${BUSYBOX}`]: 'busybox-static' }
}

/** Debian packages that are missing. */
export function missingPackages(): string[] {
  const missing = Object.entries(nodeNeeds()).filter(([command]) => !succeeds(command))
  return [...new Set(missing.map(([, debian]) => debian))]
}

export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, args, { maxBuffer: 16 * 1024 * 1024 })
  return stdout
}

function succeeds(command: string): boolean {
  return spawnSync('sh', ['-c', command], { stdio: 'ignore' }).status === 0
}
