/** The network namespace of the whole cluster; none of its addresses exists outside. */
import { existsSync } from 'node:fs'
import { ADDRESS, NAME, NETWORK } from './layout.ts'
import { run } from './system.ts'

/** A bridge without ports, because some kernels have no dummy interfaces. */
const SETUP = `
ip link set lo up
ip link add node0 type bridge
ip addr add ${ADDRESS}/24 dev node0
ip link set node0 up
ip route add default via ${ADDRESS.replace(/\d+$/, '2')}
sysctl -qw net.ipv4.ip_forward=1
`

export async function makeNetwork(): Promise<void> {
  await run('ip', ['netns', 'add', NAME])
  await run('nsenter', [`--net=${NETWORK}`, 'sh', '-ec', SETUP])
}

export async function removeNetwork(): Promise<void> {
  if (existsSync(NETWORK)) await run('ip', ['netns', 'delete', NAME])
}
