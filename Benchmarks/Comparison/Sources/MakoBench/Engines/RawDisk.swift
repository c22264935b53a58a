import Foundation

/// The limit of the disk: 4 KiB written and flushed, one after another, into a file that was filled with zeroes beforehand, so
/// that no flush changes the file's metadata. Two modes: through the system's cache, as most engines do, and bypassing it.
final class RawDisk {
    enum Way: String, CaseIterable {
        case cached = "raw disk"
        case direct = "raw disk direct"

        /// The modes that this system has.
        static var possible: [Way] {
            #if os(Linux)
                allCases
            #else
                [.cached]
            #endif
        }
    }

    private static let block = 4096
    private static let blocks = 4096

    private let way: Way
    private let file: Int32
    private let direct: Int32
    private let page: UnsafeMutableRawPointer
    private var next = 0

    init(directory: String, _ way: Way) throws {
        self.way = way
        let path = directory + "/raw"
        file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
        direct = way == .direct ? openDirectly(path) : -1
        guard file >= 0, way == .cached || direct >= 0 else { throw BenchmarkError("the raw file does not open") }
        page = .allocate(byteCount: RawDisk.block, alignment: RawDisk.block)
        page.initializeMemory(as: UInt8.self, repeating: 0, count: RawDisk.block)
        for index in 0..<RawDisk.blocks { try write(file, index) }
        guard fsync(file) == 0 else { throw BenchmarkError("fsync failed") }
        page.initializeMemory(as: UInt8.self, repeating: 0x5A, count: RawDisk.block)
    }

    private func write(_ file: Int32, _ index: Int) throws {
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
            if way == .direct {
                try write(direct, next)
            } else {
                try write(file, next)
                guard flush() else { throw BenchmarkError("a raw flush failed") }
            }
            next = (next + 1) % RawDisk.blocks
        }
    }

    func shut() {
        close(file)
        if direct >= 0 { close(direct) }
        page.deallocate()
    }
}

#if os(Linux)
    private func openDirectly(_ path: String) -> Int32 { open(path, O_WRONLY | __O_DIRECT | O_DSYNC) }
#else
    private func openDirectly(_ path: String) -> Int32 { -1 }
#endif
