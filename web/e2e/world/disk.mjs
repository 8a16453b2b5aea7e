// A disk of its own, small enough to be filled. Whoever runs this must be allowed to mount.

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeSync, openSync, closeSync } from "node:fs";
import { join } from "node:path";

const MEGABYTE = 1024 * 1024;

function run(command, ...args) {
  const made = spawnSync(command, args);
  if (made.status !== 0) throw new Error(`${command} ${args.join(" ")}: ${made.stderr}`);
}

export class Disk {
  static mount(folder, megabytes) {
    mkdirSync(folder, { recursive: true });
    run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", folder);
    const disk = new Disk();
    disk.folder = folder;
    return disk;
  }

  /** Writes until no more than so many megabytes are free. */
  fill(left) {
    const file = openSync(this.filler, "a");
    const piece = Buffer.alloc(MEGABYTE, 1);
    while (this.free > left) writeSync(file, piece);
    closeSync(file);
  }

  empty() {
    rmSync(this.filler, { force: true });
  }

  get filler() {
    return join(this.folder, "filler");
  }

  /** Megabytes that are free. */
  get free() {
    const { bavail, bsize } = statfsSync(this.folder);
    return (bavail * bsize) / MEGABYTE;
  }

  unmount() {
    run("umount", "--lazy", this.folder);
  }
}
