/**
 * Whether this machine can run a node, tested in namespaces that are removed afterwards. No package
 * provides what is missing here. As a program it prints the reason and exits with 1.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BUSYBOX, run } from './system.ts'

const execute = promisify(execFile)

/** None takes longer than a moment; a longer one never ends. */
const MS_MAX = 60_000

/** The first steps of the node, and the missing part if one fails. */
const TRIALS: readonly (readonly [missing: string, script: string])[] = [
  ['namespaces for mounts and the network', 'true'],
  ['links between network namespaces', 'ip link add probe0 type veth peer name probe1'],
  ['bridges', 'ip link add probe0 type bridge'],
  ['forwarding of packets', 'sysctl -qw net.ipv4.ip_forward=1'],
  ['translation of addresses by iptables', 'iptables -w -t nat -A POSTROUTING -j MASQUERADE'],
  [
    'translation of addresses by nftables',
    `nft -f - <<'END'
table ip probe {
  chain one { meta l4proto tcp dnat to 10.0.0.1:80; }
  chain choose { numgen random mod 2 vmap { 0 : goto one, 1 : goto one }; }
  chain in { type nat hook prerouting priority dstnat; fib daddr type local jump choose; }
  chain out { type nat hook postrouting priority srcnat; ct status dnat masquerade; }
}
END`,
  ],
  ['the table of connections', 'conntrack -L'],
  [
    'overlay mounts',
    `mkdir lower upper work merged
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged`,
  ],
  ['cgroups to start containers in', 'cd container && runc --root ../state run "gw-probe-$PPID"'],
]

/**
 * The reason why a node cannot run here; undefined if it can. The required packages must be
 * installed.
 */
export async function whyNoNode(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'it is no Linux'
  if (process.getuid?.() !== 0) return 'this is not root'
  const folder = await mkdtemp(join(tmpdir(), 'gw-probe-'))
  try {
    await makeContainer(join(folder, 'container'))
    for (const [missing, script] of TRIALS) {
      const said = await attempt(script, folder)
      if (said !== undefined) return `the kernel grants no ${missing} (${said})`
    }
    return undefined
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The error if it fails, in one line. */
async function attempt(script: string, folder: string): Promise<string | undefined> {
  const args = ['--mount', '--net', 'sh', '-ec', script]
  try {
    await execute('unshare', args, { cwd: folder, timeout: MS_MAX, killSignal: 'SIGKILL' })
    return undefined
  } catch (error) {
    // An error of execFile.
    const { stderr, message } = error as { stderr?: string; message: string }
    const lines = (stderr || message).trim().split('\n')
    return lines.findLast((line) => /error|fail|denied|permitted/i.test(line)) ?? lines[0]
  }
}

/** A container that does nothing, with limits like a kubelet's. */
async function makeContainer(folder: string): Promise<void> {
  await mkdir(join(folder, 'rootfs/bin'), { recursive: true })
  await copyFile(BUSYBOX, join(folder, 'rootfs/bin/busybox'))
  await symlink('busybox', join(folder, 'rootfs/bin/true'))
  const text = await run('sh', ['-ec', `cd ${folder}; runc spec; cat config.json`])
  const { process: first, linux, ...rest } = JSON.parse(text)
  const resources = {
    ...linux.resources,
    cpu: { shares: 100 },
    memory: { limit: 64 * 1024 * 1024 },
    pids: { limit: 100 },
  }
  const config = {
    ...rest,
    process: { ...first, terminal: false, args: ['/bin/true'] },
    linux: { ...linux, resources, cgroupsPath: `/gw-probe-${process.pid}` },
  }
  await writeFile(join(folder, 'config.json'), JSON.stringify(config))
}

if (import.meta.main) {
  const why = await whyNoNode()
  if (why !== undefined) process.stdout.write(`${why}\n`)
  process.exit(why === undefined ? 0 : 1)
}
