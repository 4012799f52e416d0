/**
 * The node's container runtime, with separate folders and socket, so that it does not touch a
 * containerd of the host.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../helpers/until.ts'
import { startDaemon } from './daemons.ts'
import { TOOLS } from './images.ts'
import { CONTAINERD, CONTAINERD_STATE, FOLDER, NAME, POD_RANGE } from './layout.ts'
import { NETWORK_PLUGINS, run } from './system.ts'

const PLUGIN_CONFIGS = join(FOLDER, 'cni')

export async function startContainerd(): Promise<void> {
  await mkdir(PLUGIN_CONFIGS, { recursive: true })
  await writeFile(join(PLUGIN_CONFIGS, '10-pods.conflist'), JSON.stringify(podNetwork()))
  const config = join(FOLDER, 'containerd.toml')
  await writeFile(config, configuration())
  await startDaemon('containerd', 'containerd', ['--config', config])
  const version = () => run('ctr', ['-a', CONTAINERD, 'version'])
  const answersNow = () =>
    version().then(
      () => true,
      () => false,
    )
  await until('containerd answers', answersNow, 60)
}

function configuration(): string {
  // A host without CAP_SYS_RESOURCE may not lower a score, so containers would not start.
  return `
version = 2
root = "${join(FOLDER, 'containers')}"
state = "${CONTAINERD_STATE}"
temp = "${join(FOLDER, 'containers-temp')}"
[grpc]
  address = "${CONTAINERD}"
[ttrpc]
  address = "${CONTAINERD}.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "${join(FOLDER, 'containers-opt')}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${TOOLS}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${NETWORK_PLUGINS}"
    conf_dir = "${PLUGIN_CONFIGS}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`
}

/**
 * Routes to each pod instead of a bridge, so that answers of a Service's address are translated
 * even if bridges do not filter.
 */
function podNetwork(): object {
  const ipam = {
    type: 'host-local',
    dataDir: join(FOLDER, 'addresses'),
    ranges: [[{ subnet: POD_RANGE.replace('/16', '/24') }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  return {
    cniVersion: '0.4.0',
    name: NAME,
    plugins: [
      { type: 'ptp', ipMasq: false, ipam },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  }
}
