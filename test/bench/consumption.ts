/** The consumption of a running process, from /proc: processor time to the nanosecond, and memory. */
import { readdirSync, readFileSync } from 'node:fs'

const SAMPLE_MS = 100

export interface ProcessorTime {
  readonly runNs: number
  /** Ready to run while another thread had the core: the measure of a disturbed run. */
  readonly waitNs: number
}

/** The sum over the threads: /proc/PID/schedstat covers only the main thread. */
export function readProcessorTime(pid: number): ProcessorTime {
  let runNs = 0
  let waitNs = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [run, wait] = readThread(pid, thread)
    runNs += run
    waitNs += wait
  }
  return { runNs, waitNs }
}

function readThread(pid: number, thread: string): [number, number] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
    const [run, wait] = text.split(' ')
    return [Number(run), Number(wait)]
  } catch {
    return [0, 0] // The thread has ended between the listing and the reading.
  }
}

export function readResidentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}

export interface MemoryWatch {
  stop(): { readonly lastBytes: number; readonly highestBytes: number }
}

export function watchMemory(pid: number): MemoryWatch {
  let lastBytes = readResidentBytes(pid)
  let highestBytes = lastBytes
  const timer = setInterval(() => {
    lastBytes = readResidentBytes(pid)
    highestBytes = Math.max(highestBytes, lastBytes)
  }, SAMPLE_MS)
  return {
    stop() {
      clearInterval(timer)
      return { lastBytes, highestBytes }
    },
  }
}

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}
