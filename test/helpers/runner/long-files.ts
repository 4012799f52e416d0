/** Ends test files that hang: otherwise the whole run waits for one of them, and does not even name it. */
import { spawnSync } from 'node:child_process'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly seconds: number
  readonly args: string
}

const LINE = /^ *(\d+) +(\d+) +(\d+) (.*)$/

/** `runner` is the process of Node's test runner, which has a child for each file. Clear the timer when the runner has ended. */
export function endLongFiles(runner: number, secondsMax: number): NodeJS.Timeout {
  const look = () => {
    const processes = runningProcesses()
    for (const { pid, parent, seconds, args } of processes) {
      if (parent !== runner || seconds <= secondsMax) continue
      process.stdout.write(`\nended, because it ran for ${seconds} s: ${args.split(' ').at(-1)}\n`)
      for (const member of familyOf(pid, processes)) end(member)
    }
  }
  return setInterval(look, Math.min(10, secondsMax) * 1000)
}

/** None if `ps` cannot print seconds, as on macOS. */
function runningProcesses(): Process[] {
  const words = ['-A', '-ww', '-o', 'pid=,ppid=,etimes=,args=']
  const { stdout } = spawnSync('ps', words, { encoding: 'utf8', maxBuffer: 1 << 26 })
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [, pid, parent, seconds, args = ''] = LINE.exec(line) ?? []
    if (pid === undefined) return []
    return [{ pid: Number(pid), parent: Number(parent), seconds: Number(seconds), args }]
  })
}

/** A process and all its children. */
function familyOf(pid: number, processes: readonly Process[]): number[] {
  const children = processes.filter(({ parent }) => parent === pid)
  return [pid, ...children.flatMap((child) => familyOf(child.pid, processes))]
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
