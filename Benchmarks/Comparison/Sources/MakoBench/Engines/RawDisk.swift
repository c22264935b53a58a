import Foundation

/// What the disk allows: 4 KiB written and flushed, one after another, into a file that was filled with zeroes beforehand, so
/// that no flush changes the file's metadata. No engine that flushes each commit can be faster.
final class RawDisk {
    static let name = "raw disk"
    private static let block = 4096
    private static let blocks = 4096

    private let file: Int32
    private let page: UnsafeMutableRawPointer
    private var next = 0

    init(directory: String) throws {
        file = open(directory + "/raw", O_RDWR | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { throw BenchmarkError("the raw file does not open") }
        page = .allocate(byteCount: RawDisk.block, alignment: RawDisk.block)
        page.initializeMemory(as: UInt8.self, repeating: 0, count: RawDisk.block)
        for index in 0..<RawDisk.blocks { try write(index) }
        guard fsync(file) == 0 else { throw BenchmarkError("fsync failed") }
        page.initializeMemory(as: UInt8.self, repeating: 0x5A, count: RawDisk.block)
    }

    private func write(_ index: Int) throws {
        guard pwrite(file, page, RawDisk.block, off_t(index * RawDisk.block)) == RawDisk.block else {
            throw BenchmarkError("a raw write failed")
        }
    }

    private func flush() -> Bool {
        #if canImport(Darwin)
            fcntl(file, F_FULLFSYNC) == 0
        #else
            fdatasync(file) == 0
        #endif
    }

    func writeAndFlush(times: Int) throws {
        for _ in 0..<times {
            try write(next)
            guard flush() else { throw BenchmarkError("a raw flush failed") }
            next = (next + 1) % RawDisk.blocks
        }
    }

    func shut() {
        close(file)
        page.deallocate()
    }
}
