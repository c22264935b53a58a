import MakoRecords
import Testing

@Suite struct DateArithmeticTests {
    /// Over all dates that have a text: each a number of seconds that 32 bits do not hold.
    @Test func secondsAreDividedIntoDaysExactly() {
        // The start of 2001, from which dates are counted, in seconds since 1970.
        let epoch = 978_307_200.0
        for days in stride(from: -2_900_000, to: 2_900_000, by: 997) {
            for time in [0, 1, 43_200, 86_398, 86_399] {
                let whole = Double(days * 86_400 + time) - epoch
                let found = DateText.daysAndTime(whole)
                if found != (days, time) { Issue.record("\(days) days and \(time) s come back as \(found)") }
            }
        }
    }
}
