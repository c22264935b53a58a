import Foundation

/// Prints results as they come, the table of ratios at the end, and the JSON file.
struct Report {
    private var results: [Result] = []

    mutating func add(_ new: [Result]) {
        results += new
        for result in new {
            let name = pad(result.benchmark.name, 34)
            let engine = pad(result.engine, 18)
            guard let least = result.values.first, let most = result.values.last else { continue }
            let unit = result.benchmark.unit
            print(
                "\(name) \(engine) \(padLeft(text(result.median, unit), 11))   \(text(least, unit)) … \(text(most, unit))"
            )
        }
        fflush(nil)
    }

    /// The ratio of each peer's time, or bytes, to Mako's: above 1, Mako is ahead.
    func printRatios() {
        var engines: [String] = []
        var names: [String] = []
        for result in results {
            if !engines.contains(result.engine) { engines.append(result.engine) }
            if !names.contains(result.benchmark.name) { names.append(result.benchmark.name) }
        }
        let peers = engines.filter { $0 != "Mako" }
        guard engines.contains("Mako"), !peers.isEmpty else { return }
        print("\nMedian of Mako, and how many times as long each peer takes (above 1: Mako is ahead)\n")
        print(pad("case", 34) + padLeft("Mako", 12) + peers.map { padLeft($0, 18) }.joined())
        for name in names {
            let row = results.filter { $0.benchmark.name == name }
            guard let own = row.first(where: { $0.engine == "Mako" }) else { continue }
            let cells = peers.map { peer in
                guard let result = row.first(where: { $0.engine == peer }) else { return padLeft("–", 18) }
                return padLeft(String(format: "%.2f", result.median / own.median), 18)
            }
            print(pad(name, 34) + padLeft(text(own.median, own.benchmark.unit), 12) + cells.joined())
        }
    }

    func writeJSON(to path: String) throws {
        let rows = results.map { result in
            let mode = result.benchmark.durability.rawValue
            return """
                {"case":"\(result.benchmark.name)","engine":"\(result.engine)","value":\(number(result.median)),\
                "unit":"\(result.benchmark.unit.rawValue)/op","durability":"\(mode)","n":\(result.benchmark.records),\
                "threads":\(result.benchmark.threads),"min":\(number(result.values.first ?? 0)),\
                "max":\(number(result.values.last ?? 0)),"repetitions":\(result.values.count)}
                """
        }
        try Data(("[\n" + rows.joined(separator: ",\n") + "\n]\n").utf8).write(to: URL(fileURLWithPath: path))
    }

    private func number(_ value: Double) -> String { String(format: "%.2f", value) }

    private func text(_ amount: Double, _ unit: Unit) -> String {
        unit == .bytes ? String(format: "%.1f B", amount) : time(amount)
    }

    private func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<10_000: String(format: "%.0f ns", nanoseconds)
        case ..<10_000_000: String(format: "%.1f µs", nanoseconds / 1e3)
        default: String(format: "%.1f ms", nanoseconds / 1e6)
        }
    }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private func padLeft(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
